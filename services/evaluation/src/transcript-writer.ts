import type { Database } from '@parley/postgres/database/types';
import type { TranscriptLine } from './transcript.ts';
import { transcriptPartStore } from './transcript-part-store.ts';

export interface WrittenTranscript {
  json: string;
  /** Number of stored parts; 0 if the transcript fits into the evaluation's row. */
  parts: number;
  bytes: number;
}

/** Approximate size of a part as JSON. Later versions must not change this value: see `transcript_parts.part`. */
const partCharacters = 1_000_000;

/**
 * Stores a transcript in parts as it arrives, so that memory does not grow with its length. A retry writes the same
 * parts.
 */
export function transcriptWriter(database: Database, { tenantId, sessionId }: { tenantId: number; sessionId: number }) {
  let lines: string[] = [];
  let characters = 0;
  let parts = 0;
  let bytes = 1; // with these, brackets and commas between lines are counted too

  async function store(): Promise<void> {
    const part = parts;
    const json = `[${lines.join(',')}]`;
    await database.transact(tenantId, (db) => transcriptPartStore(db).put(sessionId, part, json));
    parts += 1;
    lines = [];
    characters = 0;
  }

  return {
    async write(more: TranscriptLine[]): Promise<void> {
      for (const line of more) {
        const json = JSON.stringify(line);
        if (characters > 0 && characters + json.length > partCharacters) await store();
        lines.push(json);
        characters += json.length;
        bytes += Buffer.byteLength(json) + 1;
      }
    },
    async end(): Promise<WrittenTranscript> {
      if (parts === 0) return { json: `[${lines.join(',')}]`, parts, bytes: Math.max(2, bytes) };
      await store();
      return { json: '[]', parts, bytes };
    },
  };
}
