"""pygame, on a screen that nobody sees."""

import os

os.environ["SDL_VIDEODRIVER"] = "dummy"
os.environ["PYGAME_HIDE_SUPPORT_PROMPT"] = "1"

import pygame
from driving import FRAMES, HEIGHT, WIDTH, cost_us, done

pygame.display.init()
screen = pygame.display.set_mode((WIDTH, HEIGHT))
clock = pygame.time.Clock()
for i in range(FRAMES):
    screen.fill((i, i, i))
    if i % 2:
        pygame.display.flip()
    else:
        pygame.display.update()
    clock.tick(240)
cost, more = cost_us(pygame.display, "flip")
done(FRAMES + more, pygame.version.ver, cost)
