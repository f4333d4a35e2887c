import type { ClipEncoding } from './voice-api.ts';

export interface RecordingFormat {
  mimeType: string;
  encoding: ClipEncoding;
}

export interface Recording {
  /** Resolves to the whole clip when the recording stops or the microphone is disconnected. */
  clip: Promise<Blob>;
  stop(): void;
}

const formats: RecordingFormat[] = [
  { mimeType: 'audio/webm;codecs=opus', encoding: 'WEBM_OPUS' },
  { mimeType: 'audio/ogg;codecs=opus', encoding: 'OGG_OPUS' },
];

/**
 * Returns a recording format that both this browser and the voice service support; undefined if there is none or the
 * page may not use a microphone.
 */
export function recordingFormat(): RecordingFormat | undefined {
  if (typeof MediaRecorder !== 'function' || !(navigator.mediaDevices as MediaDevices | undefined)) return undefined;
  return formats.find(({ mimeType }) => MediaRecorder.isTypeSupported(mimeType));
}

/** Records from the microphone; the browser may ask for permission. The signal releases the microphone. @throws DOMException */
export async function record({ mimeType }: RecordingFormat, signal: AbortSignal): Promise<Recording> {
  const stream = await navigator.mediaDevices.getUserMedia({
    audio: { channelCount: 1, echoCancellation: true, noiseSuppression: true },
  });
  const release = () => {
    for (const track of stream.getTracks()) track.stop();
  };
  if (signal.aborted) {
    release();
    throw signal.reason;
  }
  const { promise: clip, resolve, reject } = Promise.withResolvers<Blob>();
  clip.catch(() => undefined); // a discarded clip is never awaited
  try {
    const recorder = new MediaRecorder(stream, { mimeType, audioBitsPerSecond: 32_000 });
    const parts: Blob[] = [];
    recorder.addEventListener('dataavailable', ({ data }) => parts.push(data));
    recorder.addEventListener('stop', () => {
      release();
      resolve(new Blob(parts, { type: mimeType }));
    });
    recorder.addEventListener('error', ({ error }: Event & { error?: unknown }) => {
      release();
      reject(error);
    });
    signal.addEventListener('abort', () => {
      release();
      reject(signal.reason);
    });
    recorder.start(1_000);
    return { clip, stop: () => recorder.state !== 'inactive' && recorder.stop() };
  } catch (error) {
    release();
    throw error;
  }
}
