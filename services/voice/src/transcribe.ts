import { unavailable } from '@parley/kernel/errors';
import { between, parseInput, rule } from '@parley/kernel/input';
import { z } from 'zod';
import type { Ports } from './ports.ts';
import type { Asking, Transcript } from './speech.ts';
import { languageCode } from './synthesize.ts';

/** Maximum length of base64, about 4 MB of audio. */
const maxBase64Characters = 5_600_000;

const clip = z.object({
  audioBase64: z.string().check(rule(audioProblem)),
  audioEncoding: z.enum(['MP3', 'LINEAR16', 'WEBM_OPUS', 'OGG_OPUS'], 'must be MP3, LINEAR16, WEBM_OPUS or OGG_OPUS'),
  languageCode,
  sampleRateHertz: between(8_000, 48_000).nullish(),
});

/**
 * Transcribes a clip.
 * @throws DomainError `invalid` if the input is invalid; `unavailable` if no provider is configured; the errors of `Listener`
 */
export async function transcribe(
  { listen, provide }: Ports,
  tenantId: number,
  input: unknown,
  asking: Asking,
): Promise<Transcript> {
  const given = parseInput(clip, input as z.input<typeof clip>, '');
  if (!listen) throw unavailable('There is no transcription here: STT_PROVIDER is not set');
  const { audioEncoding, languageCode: language } = given;
  const usualRate = audioEncoding === 'WEBM_OPUS' ? 48_000 : 16_000;
  const request = {
    audio: Buffer.from(given.audioBase64, 'base64'),
    audioEncoding,
    languageCode: language,
    sampleRateHertz: given.sampleRateHertz ?? usualRate,
  };
  return provide('stt', tenantId, asking.signal, () => listen(request, asking));
}

function audioProblem(base64: string): string | undefined {
  if (base64 === '') return 'must not be empty';
  if (base64.length > maxBase64Characters) return `must have at most ${maxBase64Characters} characters`;
  return base64.length % 4 === 0 && /^[A-Za-z\d+/]*={0,2}$/u.test(base64) ? undefined : 'must be base64';
}
