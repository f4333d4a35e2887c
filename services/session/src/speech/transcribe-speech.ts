import type { TenantRequest } from '@parley/kernel/caller-request';
import { between, parseInput, rule, text } from '@parley/kernel/input';
import { z } from 'zod';
import type { TranscribeSpeechInput, TranscribeSpeechResultDto } from '../generated/schema.ts';
import type { Ports } from '../ports.ts';

/** Maximum length of base64, about 4 MB of audio. */
const maxBase64Characters = 5_600_000;

/**
 * Describes the clips that voice accepts at `/stt`. The clip is checked before voice is called, so that a refused clip is not sent and
 * every problem names its field.
 */
const clip = z.object({
  audioBase64: z.string().check(rule(audioProblem)),
  audioEncoding: z.enum(['MP3', 'LINEAR16', 'WEBM_OPUS', 'OGG_OPUS'], 'must be MP3, LINEAR16, WEBM_OPUS or OGG_OPUS'),
  languageCode: text(35).check(
    rule((code) =>
      /^[a-z]{2,8}([-_][a-z\d]{1,8})*$/iu.test(code) ? undefined : 'must be a language code such as en-US',
    ),
  ),
  sampleRateHertz: between(8_000, 48_000).nullish(),
});

/**
 * Transcribes a clip at the voice service, with a token of the caller's tenant.
 * @throws DomainError `invalid` if voice does not accept the clip
 * @throws DomainError `tooManyRequests` if too many clips of the tenant wait, or voice refuses further requests
 * @throws DomainError `unavailable` if voice is down, too slow, or has no transcription, or if too many clips of all tenants wait
 */
export async function transcribeSpeech(
  { tokens, transcribe }: Ports,
  { caller: { tenantId, ip }, signal }: TenantRequest,
  input: TranscribeSpeechInput,
): Promise<TranscribeSpeechResultDto> {
  // The input's type allows any text as encoding; the schema checks it.
  const given = parseInput(clip, input as z.input<typeof clip>);
  const { token } = tokens.mint({ audience: 'voice', tenantId, ...(ip !== undefined && { clientIp: ip }) });
  return transcribe(given, { tenantId, token, signal });
}

function audioProblem(base64: string): string | undefined {
  if (base64 === '') return 'must not be empty';
  if (base64.length > maxBase64Characters) return `must have at most ${maxBase64Characters} characters`;
  return base64.length % 4 === 0 && /^[A-Za-z\d+/]*={0,2}$/u.test(base64) ? undefined : 'must be base64';
}
