import type { Session } from '../../client.ts';
import { ParleyError } from '../../parley-error.ts';

export interface VoiceOptions {
  /** URL of the voice service: the `avatarServiceUrl` that `sdkStart` returned. */
  url: string;
  /** Name of the voice: the `ttsVoice` that `sdkStart` returned. If undefined, nothing is read aloud. */
  name: string | undefined;
  /** Language of speech and transcription: the `ttsLang` that `sdkStart` returned. */
  language: string;
  /** Speed of speech: the `speakingRate` that `sdkStart` returned. */
  rate: number;
}

export type ClipEncoding = 'WEBM_OPUS' | 'OGG_OPUS';

export type VoiceApi = ReturnType<typeof voiceApi>;

const transcriptionTimeoutMs = 60_000;
const routes = { stream: '/tts/stream', whole: '/tts', transcript: '/stt' };

/** Creates a client of the voice service that uses the session's token. */
export function voiceApi(
  { url, name: voiceName, language: languageCode, rate }: VoiceOptions,
  session: Pick<Session, 'fetch'>,
) {
  async function post(path: string, body: object, signal: AbortSignal): Promise<Response> {
    let response: Response;
    try {
      const headers = { 'content-type': 'application/json' };
      const request = { method: 'POST', headers, body: JSON.stringify(body), signal };
      response = await session.fetch(`${url.replace(/\/$/u, '')}${path}`, request);
    } catch (cause) {
      if (cause instanceof ParleyError || signal.aborted) throw cause;
      throw new ParleyError('NETWORK', 'The server cannot be reached', { cause });
    }
    if (response.ok) return response;
    const { error = {} } = (await response.json().catch(() => ({}))) as { error?: { code?: string; message?: string } };
    const code = error.code ?? (response.status === 404 ? 'NOT_FOUND' : 'UNAVAILABLE');
    throw new ParleyError(code, error.message ?? `The server answered ${response.status}`);
  }

  return {
    /**
     * Yields the MP3 of a text in parts as they arrive; in one part if the service does not support `/tts/stream`.
     * @throws ParleyError
     */
    async *speech(text: string, signal: AbortSignal): AsyncGenerator<Uint8Array<ArrayBuffer>> {
      const body = { text, voiceName, languageCode, speakingRate: rate, audioEncoding: 'MP3' };
      const streamed = await post(routes.stream, body, signal).catch((error: unknown) => {
        if (error instanceof ParleyError && error.code === 'NOT_FOUND') return undefined;
        throw error;
      });
      if (!streamed?.body) {
        const answer = (await (await post(routes.whole, body, signal)).json()) as { audioContent: string };
        yield Uint8Array.from(atob(answer.audioContent), (character) => character.charCodeAt(0));
        return;
      }
      const reader = streamed.body.getReader();
      for (let part = await reader.read(); !part.done; part = await reader.read()) yield part.value;
    },

    /** Transcribes a clip. Returns an empty text if the clip has no speech. @throws ParleyError */
    async transcribe(clip: Blob, audioEncoding: ClipEncoding, signal: AbortSignal): Promise<string> {
      const audioBase64 = await base64Of(clip);
      const body = { audioBase64, audioEncoding, languageCode, sampleRateHertz: 48_000 };
      const limitedSignal = AbortSignal.any([signal, AbortSignal.timeout(transcriptionTimeoutMs)]);
      const answer = (await (await post(routes.transcript, body, limitedSignal)).json()) as { transcript: string };
      return answer.transcript.trim();
    },
  };
}

function base64Of(blob: Blob): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const reader = new FileReader();
  reader.addEventListener('load', () => resolve(String(reader.result).replace(/^.*,/u, '')));
  reader.addEventListener('error', () => reject(new ParleyError('INTERNAL', 'The recording cannot be read')));
  reader.readAsDataURL(blob);
  return promise;
}
