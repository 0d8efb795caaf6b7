"""aiortc: two peers on this machine; a video track and a sound track."""

import asyncio

import aiortc
from aiortc import MediaStreamTrack, RTCPeerConnection, VideoStreamTrack
from aiortc.contrib.media import MediaBlackhole
from aiortc.mediastreams import AudioStreamTrack, MediaStreamError
from av import VideoFrame
from driving import FRAMES, done, picture


class Video(VideoStreamTrack):
    """So many frames, and no more; recv of its own, as most programs have."""

    def __init__(self):
        super().__init__()
        self.given = 0

    async def recv(self):
        """The next one, when its time has come."""
        if self.given >= FRAMES:
            raise MediaStreamError
        pts, time_base = await self.next_timestamp()
        frame = VideoFrame.from_ndarray(picture(self.given), format="rgb24")
        frame.pts, frame.time_base = pts, time_base
        self.given += 1
        return frame


async def main():
    """Connect, send, close."""
    sender, receiver = RTCPeerConnection(), RTCPeerConnection()
    sink = MediaBlackhole()

    @receiver.on("track")
    def on_track(track: MediaStreamTrack) -> None:
        sink.addTrack(track)

    video = Video()
    sender.addTrack(video)
    sender.addTrack(AudioStreamTrack())
    await sender.setLocalDescription(await sender.createOffer())
    await receiver.setRemoteDescription(sender.localDescription)
    await receiver.setLocalDescription(await receiver.createAnswer())
    await sender.setRemoteDescription(receiver.localDescription)
    await sink.start()
    for _ in range(400):
        await asyncio.sleep(0.05)
        if video.given >= FRAMES:
            break
    await asyncio.sleep(0.2)
    await sender.close()
    await receiver.close()
    assert video.given == FRAMES, video.given


asyncio.run(main())
done(FRAMES, aiortc.__version__)
