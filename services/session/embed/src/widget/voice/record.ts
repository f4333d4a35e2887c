import type { ClipEncoding } from './voice-api.ts';

export interface RecordingFormat {
  mimeType: string;
  encoding: ClipEncoding;
}

export interface Recording {
  /** Resolves to the whole clip when the recording has stopped, also if it stopped because the microphone was disconnected. */
  clip: Promise<Blob>;
  stop(): void;
}

const formats: RecordingFormat[] = [
  { mimeType: 'audio/webm;codecs=opus', encoding: 'WEBM_OPUS' },
  { mimeType: 'audio/ogg;codecs=opus', encoding: 'OGG_OPUS' },
];

/**
 * Returns a recording format that both this browser and the voice service support. Undefined if there is no such format, or if the browser
 * does not let the page use a microphone.
 */
export function recordingFormat(): RecordingFormat | undefined {
  if (typeof MediaRecorder !== 'function' || !(navigator.mediaDevices as MediaDevices | undefined)) return undefined;
  return formats.find(({ mimeType }) => MediaRecorder.isTypeSupported(mimeType));
}

/**
 * Records from the microphone; the browser may first ask for permission. When the signal aborts, the recording is discarded and the
 * microphone released.
 * @throws DOMException if the browser denies the microphone or cannot record
 * @throws the signal's reason if the signal aborts
 */
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
  clip.catch(() => undefined); // prevents an unhandled rejection: nothing awaits a discarded clip
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
