"""The Textual app: the screens of one session, the tick that draws them, and what leaving means."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import signal
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.command import Provider
from textual.theme import BUILTIN_THEMES

from mgtop.session.lock import is_live
from mgtop.session.marks import append_mark
from mgtop.session.stop import CannotStop, NotLive, request_stop
from mgtop.view.bindings import PLACES
from mgtop.view.celldiff import Asking, Repainting, driver_class
from mgtop.view.crash import RaisingApp
from mgtop.view.feed import Feed
from mgtop.view.glyphs import look
from mgtop.view.hangup import leave_on_hangup
from mgtop.view.pace import Pace
from mgtop.view.palette import Commands
from mgtop.view.screens.dialogs import Ask, Help, Leave, Leaving, parse_time
from mgtop.view.screens.live import LiveScreen
from mgtop.view.screens.session_screen import SessionScreen
from mgtop.view.screens.signal_dialog import SignalDialog
from mgtop.view.screens.time_screen import TimeScreen
from mgtop.view.signalling import CannotSignal, Receiver, send
from mgtop.view.themes import ANSI, DEFAULT, load_all, load_users
from mgtop.view.timeline import Timeline
from mgtop.view.viewing import Viewing

if TYPE_CHECKING:
    from mgtop.view.segment_answers import SegmentAnswers

DEFAULT_FPS = 4.0
READ_NS = 5_000_000
"""A key waits for so much reading at most, of the processor's time."""
CATCH_UP_S = 0.002
"""Between two pieces of a log, so that keys have their turn."""
CATCH_UP_BESIDE_S = 0.006
"""The same beside a running program: less than half of a core."""
ARRIVING_S = 0.1
"""How often to look whether a frame has been shown, which the next one waits for."""
SOON_S = 0.05
LATE_S = 0.1
"""So long a drawing waits for what has come meanwhile."""
LEAST_S = 0.003
IDLE_S = 1.0
"""How often to look for news where nothing can have changed on the screen."""


class MgtopApp(RaisingApp[Leaving]):
    """Shows one session.

    Args:
        folder: the session's.
        fps: drawings per second.
        readonly: no marks, no stopping.
        feed: where records come from; the folder's log unless told.
    """

    TITLE = "mgtop"
    CSS_PATH = "styles/app.tcss"
    ENABLE_COMMAND_PALETTE = True
    COMMANDS: ClassVar[set[type[Provider] | Callable[[], type[Provider]]]] = {Commands}
    COMMAND_PALETTE_BINDING = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+c", "interrupt", priority=True, show=False),
    ]

    def __init__(
        self,
        folder: Path,
        fps: float = DEFAULT_FPS,
        readonly: bool = False,
        feed: Feed | None = None,
    ) -> None:
        self._own_themes = load_all()  # Textual asks for their colours at once
        users, self._theme_troubles = load_users({theme.name for theme in self._own_themes})
        self._own_themes += users
        # Without colours Textual draws in true-colour greys, unless colours are the terminal's.
        super().__init__(
            driver_class=driver_class(), ansi_color=True if os.environ.get("NO_COLOR") else None
        )
        self.folder = folder
        self.readonly = readonly
        self.feed = feed or Feed(folder)
        glyphs, self.plain = look(os.environ)
        self.viewing = Viewing(self.feed, Timeline(self.feed), Pace(fps), readonly, glyphs)
        self.live = LiveScreen(self.viewing)
        self._screens: dict[str, SessionScreen] = {"live": self.live}
        self._due = self._draw_at = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._interrupted = False

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """What a theme may lack: the bands, and what Textual wants in terminals' own colours."""
        default = next(theme for theme in self._own_themes if theme.name == DEFAULT)
        return {**BUILTIN_THEMES["ansi-dark"].variables, **default.variables}

    @property
    def theme_names(self) -> list[str]:
        """Those that come with mgtop, and the user's own."""
        return [theme.name for theme in self._own_themes]

    def on_mount(self) -> None:
        """Open the live screen, and begin to tick."""
        for theme in self._own_themes:
            self.register_theme(theme)
        plain = bool(os.environ.get("NO_COLOR")) or self.console.color_system == "standard"
        wanted = os.environ.get("MGTOP_THEME") or (ANSI if plain else DEFAULT)
        troubles = list(self._theme_troubles)
        if wanted not in self.available_themes:
            troubles.insert(0, f"no theme {wanted!r}; there are {', '.join(self.theme_names)}")
            wanted = ANSI if plain else DEFAULT
        self.theme = wanted
        if troubles:
            self.call_after_refresh(self.say, troubles[0])  # once the screen is there
        leave_on_hangup(self.exit)
        self.push_screen(self.live)
        self._due = time.monotonic()
        self.call_after_refresh(self._tick)

    # ------------------------------------------------------------------------------ ticks

    @property
    def shown(self) -> SessionScreen:
        """The screen of the session that is in front, dialogs apart."""
        found = (s for s in reversed(self.screen_stack) if isinstance(s, SessionScreen))
        return next(found, self.live)

    def _tick(self) -> None:
        now = time.monotonic()
        interval = self.viewing.pace.ticked(now, self._due)
        driver, on_its_way = self._driver, False
        if isinstance(driver, Asking):
            interval = self.viewing.pace.shown(driver.take_answer())
            on_its_way = driver.busy
        was_reading, behind = self._reading, False
        was_whole = self.feed.share_read is None
        if not self._reading_can_wait():
            self.feed.poll(READ_NS)
            behind = not self.feed.caught_up
        still, over = self.viewing.timeline.still, was_reading and not self._reading
        if over:
            self._settle(anew=not was_whole)
        # What has come meanwhile is to be in the picture, if that does not take long.
        due = now >= self._draw_at + (LATE_S if behind and not was_reading else 0.0)
        if (due or still or over) and not on_its_way:
            self._draw_at = now + interval
            self.call_later(self._draw)
        if self._reading:
            wait = CATCH_UP_BESIDE_S if self.feed.live else CATCH_UP_S
        elif behind:
            wait = CATCH_UP_S
        elif on_its_way:
            wait = max(ARRIVING_S, self._draw_at - time.monotonic())
        elif still:
            wait = max(interval, IDLE_S)
        else:
            wait = max(LEAST_S, self._draw_at - time.monotonic())
        self._tick_in(wait)

    def _tick_in(self, wait_s: float) -> None:
        """Tick after so long, and after the keys that came until then.

        Textual's own timers of one tick never tick where the machine is so busy that their time
        has passed before they wait (8.2: ``Timer._run`` skips it).
        """
        if self._timer is not None:
            self._timer.cancel()
        self._due = time.monotonic() + wait_s
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(wait_s, self.call_later, self._tick)

    def _settle(self, anew: bool) -> None:
        """Spare the garbage collector what lasts: going through it takes 60 ms of a key's time.

        ``anew``: what lasted until now was replaced.
        """
        if anew:
            gc.unfreeze()
            gc.collect()
        gc.freeze()

    def _draw(self) -> None:
        """Draw what was read; keys that came meanwhile had their turn before."""
        self.shown.draw_if_new()

    @property
    def _reading(self) -> bool:
        """Whether a log is on its way in whose end, or begin, is not there yet."""
        return not self.feed.keeps_up or self.feed.share_read is not None

    def _reading_can_wait(self) -> bool:
        """Whether nothing of what is recorded now can show: a held picture costs nothing.

        What came meanwhile is read when the picture goes on, or the recording ends.
        """
        held = self.viewing.timeline.frozen is not None and isinstance(self.shown, TimeScreen)
        return held and not self._reading and self.feed.live and is_live(self.folder)

    def look_again(self) -> None:
        """The picture goes on: tick soon, once that is drawn, whose key should not wait."""
        if self._timer is not None:
            self._tick_in(SOON_S)

    def say(self, message: str) -> None:
        """Show a message for some seconds, on whatever screen there is."""
        self.shown.say(message)

    # ---------------------------------------------------------------------------- screens

    def _screen_of(self, name: str) -> SessionScreen:
        screen = self._screens.get(name)
        if screen is None:
            from mgtop.view.screens.places import make

            screen = self._screens[name] = make(name, self.viewing)
            self.install_screen(screen, name)
        return screen

    async def action_show(self, name: str) -> None:
        """Put a screen in front; there is one of each."""
        screen = self._screen_of(name)
        if screen is self.shown:
            return
        if self.shown is not self.live:
            await self.pop_screen()
        if screen is not self.live:
            await self.push_screen(screen)

    async def action_turn(self, by: int) -> None:
        """The next screen, or the one before."""
        names = [place.name for place in PLACES]
        at = names.index(self.shown.PLACE)
        await self.action_show(names[(at + by) % len(names)])

    def action_redraw(self) -> None:
        """Draw everything anew, after something else wrote on the terminal."""
        driver = self._driver
        if isinstance(driver, Repainting):
            driver.repaint()
        else:
            self.refresh(layout=True)

    def action_help(self) -> None:
        """All keys."""
        self.push_screen(Help(self.shown.KEYS, self.shown.help_text()))

    def action_theme(self) -> None:
        """The next theme."""
        names = self.theme_names
        at = names.index(self.theme) if self.theme in names else -1
        self.action_use_theme(names[(at + 1) % len(names)])

    def action_use_theme(self, name: str) -> None:
        """A theme by its name."""
        self.theme = name
        self.say(f"theme {name}")

    # ---------------------------------------------------------------------------- leaving

    def action_leave(self) -> None:
        """Leave; while the session is live, ask what becomes of it."""
        if not self.feed.live:
            self.exit()
            return
        self.push_screen(Leave(self.readonly), self._leave)

    def _leave(self, choice: Leaving | None) -> None:
        if choice is None:
            return
        if choice != "leave":
            try:
                with contextlib.suppress(NotLive):  # it has ended meanwhile
                    request_stop(self.folder, target=choice == "stop_target")
            except CannotStop as error:
                self.say(str(error))
                return
        self.exit(choice)

    def action_interrupt(self) -> None:
        """Ctrl-C leaves at the second press, and never reaches the target."""
        if self._interrupted:
            self.exit()
            return
        self._interrupted = True
        self.set_timer(3.0, self._forget_interrupt)
        self.say("Ctrl-C again leaves this view; the target goes on")

    def _forget_interrupt(self) -> None:
        self._interrupted = False

    # --------------------------------------------------------------------------- writing

    def action_mark(self) -> None:
        """Mark this moment."""
        self._mark("mark")

    def action_mark_note(self) -> None:
        """Mark this moment, with a note."""
        t_ns = self.feed.now_ns()
        self.push_screen(Ask("Note for this moment:"), lambda text: self._mark(text, t_ns))

    def _mark(self, text: str | None, t_ns: int | None = None) -> None:
        if text is None:
            return
        if self.readonly:
            self.say("read-only: no marks")
            return
        try:
            append_mark(self.folder, self.feed.now_ns() if t_ns is None else t_ns, text or "mark")
        except OSError as error:
            self.say(f"the mark cannot be written: {error.strerror}")
            return
        self.say("marked")

    def action_snapshot(self) -> None:
        """Save the picture, the figures and the last records."""
        if self.readonly:
            self.say("read-only: no snapshots")
            return
        # The report is needed for nothing else, and the first paint should not wait for it.
        from mgtop.view.segment_answers import ask
        from mgtop.view.snapshot import save

        try:
            summary = self.feed.model.summary()
            target = save(self.folder, self.export_screenshot(), summary, self.feed.recent())
        except OSError as error:
            self.say(f"the snapshot cannot be written: {error.strerror}")
            return
        self.say(f"saved snapshots/{target.name}")
        answers = ask(self.folder, target, summary.memory) if self.feed.live else None
        if answers is not None:
            self._await_segments(answers)

    def _await_segments(self, answers: SegmentAnswers) -> None:
        """Say what became of a segment map, once that is known."""
        said = answers.look()
        if said is None:
            self.set_timer(0.25, partial(self._await_segments, answers))
        else:
            self.say(said)

    def action_signal(self) -> None:
        """Send a signal to the chosen process, or to the target itself; ask first."""
        if self.readonly:
            self.say("read-only: no signals")
            return
        receiver = self.shown.receiver()
        if receiver is None:
            self.say("no process of the target runs on this machine")
            return
        self.push_screen(SignalDialog(receiver), partial(self._signal, receiver))

    def _signal(self, receiver: Receiver, number: signal.Signals | None) -> None:
        if number is None:
            return
        try:
            send(receiver, number)
        except CannotSignal as error:
            self.say(str(error))
            return
        self.say(f"{number.name.removeprefix('SIG')} sent to process {receiver.pid}")

    # ------------------------------------------------------------------------------ times

    def action_go(self) -> None:
        """Go to a time of the session."""
        self.push_screen(Ask("Go to time (1:02:03, 1:02 or seconds):"), self._go)

    def _go(self, text: str | None) -> None:
        if text is None:
            return
        t_ns = parse_time(text)
        if t_ns is None:
            self.say(f"{text!r} is not a time")
            return
        self.shown.go_to(self.feed.model.about.start_ns + t_ns)


def run_view(folder: Path, fps: float | None = None, readonly: bool = False) -> Leaving:
    """Show a session until the user leaves; return what was asked for on leaving."""
    return MgtopApp(folder, fps or DEFAULT_FPS, readonly).show() or "leave"
