"""The recorder: the process that starts or joins a program and writes its session log.

The only place of mgtop with threads.
"""
