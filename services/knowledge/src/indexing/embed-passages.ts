import { isDomainError } from '@parley/kernel/errors';
import type { EmbedCall, Embedded, Embedder, Embedding } from '../embeddings/embedder.ts';
import type { Chunk } from './chunk-text.ts';
import { chunkText, chunkTokens } from './chunk-text.ts';
import { firstTokens, lastTokens, passageTokens } from './passage-tokens.ts';

export interface VectorOfChunk {
  chunk: Chunk;
  embedding: Embedding;
}

interface Passage {
  chunk: Chunk;
  /**
   * Whether the model has refused the passage as too long. The passage is then embedded with a small part of the document's name and of
   * the headings.
   */
  isCut: boolean;
}

/** A text that the endpoint refused as too long is cut further only if it has more tokens than this. */
const minTokensTooLong = 16;
/** A text that the endpoint refused without a reason is cut further only if it has more tokens than this. */
const minTokensRefused = 128;
/** The share of the model's maximum that a passage may use. The rest is a margin, because tokens are estimated. */
const shareOfPassage = 3 / 4;
/** The share of the model's maximum for the document's name, and as much for the headings. */
const shareOfPlace = 1 / 8;
const tokensOfPlace = 100;

/** Returns the size of chunks for this model, in estimated tokens. */
export function chunkSizeFor(embedder: Embedder, model: string): number {
  const taken = embedder.maxTokens?.(model);
  return taken === undefined ? chunkTokens : Math.min(chunkTokens, Math.floor(taken * shareOfPassage));
}

/**
 * Embeds passages with their document's name and headings. A passage that the model refuses as too long is cut. After that, passages of the
 * same length or longer are cut before they are sent, except those of a length that the model has already accepted. No accepted text is
 * sent twice.
 */
export function passageEmbedder(
  embedder: Embedder,
  call: Omit<EmbedCall, 'callId'> & { callId: string; name: string },
) {
  const { name, callId, ...how } = call;
  const maxTokens = embedder.maxTokens?.(call.model);
  let calls = 0;
  let textsAtOnce = 100;
  let taken = 0;
  let refused = Number.POSITIVE_INFINITY;

  const textOf = ({ chunk: { heading, content }, isCut }: Passage) => {
    const own = isCut ? passageTokens(content) / 4 : Number.POSITIVE_INFINITY;
    const maxPlaceTokens = Math.floor(
      Math.min(tokensOfPlace, own, (maxTokens ?? Number.POSITIVE_INFINITY) * shareOfPlace),
    );
    const place = [firstTokens(titleOf(name), maxPlaceTokens), lastTokens(heading, maxPlaceTokens)];
    return [...place, content].filter((part) => part.trim() !== '').join('\n\n');
  };
  const sizeOf = (passage: Passage) => passageTokens(textOf(passage));
  const isTooLong = (passage: Passage) => sizeOf(passage) >= refused && sizeOf(passage) > taken;

  function fitting(passage: Passage): Passage[] {
    if (!isTooLong(passage)) return [passage];
    const pieces = cut(passage, minTokensTooLong);
    return pieces ? pieces.flatMap(fitting) : [passage];
  }

  function cut(passage: Passage, minTokens: number): Passage[] | undefined {
    const { chunk, isCut } = passage;
    const tokens = passageTokens(chunk.content);
    if (sizeOf(passage) <= minTokens) return undefined;
    if (!isCut && sizeOf(passage) > 2 * tokens) return [{ chunk, isCut: true }];
    const pieces = tokens > 1 ? piecesOf(chunk.content, Math.ceil(tokens / 2)) : [];
    if (pieces.length === 0) return undefined;
    return pieces.map(({ content, heading }) => ({
      chunk: {
        ...chunk,
        content,
        heading: heading === '' || chunk.heading.endsWith(heading) ? chunk.heading : heading,
      },
      isCut: true,
    }));
  }

  async function embedAll(given: readonly Passage[]): Promise<VectorOfChunk[]> {
    const passages = given.flatMap(fitting);
    if (passages.length > textsAtOnce) return halves(passages);
    let vectors: Embedded['vectors'];
    try {
      calls += 1;
      ({ vectors } = await embedder.embed(passages.map(textOf), {
        ...how,
        callId: calls === 1 ? callId : `${callId}-${calls}`,
      }));
    } catch (error) {
      const minTokens = minTokensOf(error);
      if (minTokens === undefined) throw error;
      const [first, ...more] = passages;
      if (!first || more.length > 0) {
        const before = refused;
        const vectorsOfHalves = await halves(passages);
        // No single text was too long, but the texts of the request were too long together.
        if (refused === before) textsAtOnce = Math.min(textsAtOnce, Math.ceil(passages.length / 2));
        return vectorsOfHalves;
      }
      const pieces = cut(first, minTokens);
      if (!pieces) throw error;
      refused = Math.min(refused, sizeOf(first));
      return embedAll(pieces);
    }
    taken = Math.max(taken, ...passages.map(sizeOf));
    return passages.map(({ chunk }, n) => ({ chunk, embedding: vectorAt(vectors, n) }));
  }

  async function halves(passages: readonly Passage[]): Promise<VectorOfChunk[]> {
    const middle = Math.ceil(passages.length / 2);
    return [...(await embedAll(passages.slice(0, middle))), ...(await embedAll(passages.slice(middle)))];
  }

  return {
    /** Embeds chunks in order, cutting those that the model refuses as too long. @throws the errors of `Embedder.embed` */
    embed: (chunks: readonly Chunk[]) => embedAll(chunks.map((chunk) => ({ chunk, isCut: false }))),
    /** Returns the estimated tokens of the shortest text that was refused and cut. */
    refusedTokens: () => (refused === Number.POSITIVE_INFINITY ? undefined : refused),
  };
}

/**
 * Returns one vector for a text of any length. If the model refuses the whole text, the vector is the mean of the vectors of its pieces,
 * weighted by length.
 * @throws the errors of `Embedder.embed`
 */
export async function embedWhole(embedder: Embedder, text: string, call: EmbedCall): Promise<Embedding> {
  const maxTokens = embedder.maxTokens?.(call.model) ?? Number.POSITIVE_INFINITY;
  const whole = { content: text, heading: '', page: null };
  const pieces = passageTokens(text) > maxTokens ? piecesOf(text, Math.floor(maxTokens * shareOfPassage)) : [whole];
  const { embed } = passageEmbedder(embedder, { ...call, name: '' });
  const vectors = await embed(pieces.map(({ content }) => ({ ...whole, content })));
  const [only] = vectors;
  if (only && vectors.length === 1) return only.embedding;
  return meanOf(vectors);
}

function meanOf(vectors: readonly VectorOfChunk[]): Embedding {
  const [
    {
      embedding: { length: dimensions },
    } = { embedding: [] },
  ] = vectors;
  const sum = new Float64Array(dimensions);
  for (const { chunk, embedding } of vectors) {
    const weight = passageTokens(chunk.content);
    for (const [at, value] of embedding.entries()) sum[at] = (sum[at] ?? 0) + weight * value;
  }
  const length = Math.hypot(...sum);
  return Float32Array.from(sum, (value) => value / length);
}

/** Splits a text into pieces of at most `tokens` tokens; returns none if the text cannot be cut. */
function piecesOf(text: string, tokens: number): Chunk[] {
  const pieces = [...chunkText(text, [], tokens)].filter((piece) => piece !== undefined);
  if (pieces.length > 1 && pieces.every(({ content }) => content.length < text.length)) return pieces;
  const first = firstTokens(text, tokens);
  const halves = [first, text.slice(first.length)].map((half) => half.trim()).filter((half) => half !== '');
  return halves.length > 1 ? halves.map((content) => ({ content, heading: '', page: null })) : [];
}

/** Returns the name without its file extension, as in the search words: see `knowledge_chunk_words` in the migrations. */
function titleOf(name: string): string {
  return name.replace(/\.(?:txt|md|markdown|pdf|docx|xlsx|csv|html?)$/iu, '').trim();
}

function minTokensOf(error: unknown): number | undefined {
  if (!isDomainError(error, 'invalid')) return undefined;
  if (error.reason === 'EMBEDDING_TOO_LONG') return minTokensTooLong;
  return error.reason === 'EMBEDDING_REFUSED' ? minTokensRefused : undefined;
}

function vectorAt<T>(vectors: readonly T[], n: number): T {
  const vector = vectors[n];
  if (!vector) throw new Error('An embedding is missing');
  return vector;
}
