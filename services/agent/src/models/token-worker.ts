import { parentPort } from 'node:worker_threads';
import { estimateTokens } from '@parley/text/token-estimate';

export type Encoding = 'o200k_base' | 'cl100k_base';

export interface CountRequest {
  id: number;
  encoding: Encoding;
  texts: string[];
}

export interface CountAnswer {
  id: number;
  tokens: number;
}

type Count = (text: string) => number;

/** Tokenizing a long run of letters takes quadratic time, so texts are counted in pieces of this length. */
const pieceLength = 256;
/** The time limit for counting one text, so that other texts do not wait long. The rest of the text is estimated. */
const budgetMs = 100;

const encodings = new Map<Encoding, Promise<Count>>();

async function load(encoding: Encoding): Promise<Count> {
  const { countTokens } = await (encoding === 'o200k_base'
    ? import('gpt-tokenizer/encoding/o200k_base')
    : import('gpt-tokenizer/encoding/cl100k_base'));
  const asText = { disallowedSpecial: new Set<string>() };
  return (text) => countTokens(text, asText);
}

function countAll(texts: string[], count: Count): number {
  const endsAt = performance.now() + budgetMs;
  let tokens = 0;
  for (const text of texts) {
    for (let from = 0; from < text.length; ) {
      if (performance.now() > endsAt) {
        tokens += estimateTokens(text.slice(from));
        break;
      }
      const to = pieceEnd(text, from);
      tokens += count(text.slice(from, to));
      from = to;
    }
  }
  return tokens;
}

/**
 * Returns the end of the piece that begins at `from`. The piece ends before a space if it contains one, because a token includes the space
 * in front of it.
 */
function pieceEnd(text: string, from: number): number {
  const end = from + pieceLength;
  if (end >= text.length) return text.length;
  const space = text.lastIndexOf(' ', end);
  return space > from ? space : end;
}

parentPort?.on('message', async ({ id, encoding, texts }: CountRequest) => {
  let counting = encodings.get(encoding);
  if (!counting) encodings.set(encoding, (counting = load(encoding)));
  parentPort?.postMessage({ id, tokens: countAll(texts, await counting) } satisfies CountAnswer);
});
