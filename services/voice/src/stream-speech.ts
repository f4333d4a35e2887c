import { audioJoiner } from './audio/join-audio.ts';
import { piecesOf } from './pieces/pieces-of.ts';
import type { Ports } from './ports.ts';
import { unreadable } from './providers/provider-call.ts';
import type { Asking, SpeechEncoding, Utterance } from './speech.ts';
import { readSpeechRequest, speakFor } from './synthesize.ts';

export interface SpeechStream {
  contentType: string;
  /** The parts of one audio file. Rejects if a part cannot be synthesized. */
  audio: AsyncIterable<Buffer>;
}

const contentTypes: Record<SpeechEncoding, string> = { MP3: 'audio/mpeg', LINEAR16: 'audio/wav' };

/**
 * Speaks a text or SSML piece by piece. While one piece is sent, only the next one is synthesized.
 * @throws DomainError for problems found before synthesis begins
 */
export function streamSpeech(ports: Ports, tenantId: number, input: unknown, asking: Asking): SpeechStream {
  const { utterance, ...voice } = readSpeechRequest(input);
  const join = audioJoiner(voice.audioEncoding);
  const pieces = piecesOf(utterance, voice.languageCode);

  const spoken = async (piece: Utterance): Promise<Buffer> => {
    const { audio } = await speakFor(ports, tenantId, { ...voice, utterance: piece }, asking);
    return audio;
  };
  const started = (piece: Utterance | undefined): Promise<Buffer> | undefined => {
    const audio = piece && spoken(piece);
    audio?.catch(() => undefined); // the promise is awaited later, or never if the client disconnects
    return audio;
  };

  async function* parts(): AsyncGenerator<Buffer> {
    let next = started(pieces.shift());
    while (next) {
      const audio = await next;
      next = started(pieces.shift());
      try {
        yield join(audio);
      } catch (error) {
        throw unreadable('speech provider', error);
      }
      asking.memory.giveBack(audio.length);
    }
  }

  return { contentType: contentTypes[voice.audioEncoding], audio: parts() };
}
