"""A real streaming video generator in torch, with faults to order: something to watch.

``python -m mgtop.demo --help`` tells its options. Of mgtop it imports the probe alone, as any
generator would. Its weights are random: the pictures are the clip, blurred and stirred.
"""
