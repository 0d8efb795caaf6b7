"""Every sink with the real library: is each frame counted once, and what does it cost?"""
