import type { Database } from '@parley/postgres/database/types';
import type { TranscriptLine } from './transcript.ts';
import { transcriptPartStore } from './transcript-part-store.ts';

/** Where a transcript is, once all of it has been written. */
export interface WrittenTranscript {
  /** The whole as JSON, where it has no parts. */
  json: string;
  /** How many parts are stored; 0: it is short enough for the evaluation's own row. */
  parts: number;
  /** What the whole takes as JSON, in bytes. */
  bytes: number;
}

export interface TranscriptWriter {
  write(lines: TranscriptLine[]): Promise<void>;
  end(): Promise<WrittenTranscript>;
}

/** What a part takes, about, in characters of JSON. A later version must keep it: see `transcript_parts.part`. */
const partCharacters = 1_000_000;

/**
 * Stores a transcript as it comes, so that one of any length takes the memory of one part. Nobody sees the parts until there is
 * an evaluation; written again, by whoever judges the session anew, they are the same.
 */
export function transcriptWriter(
  database: Database,
  { tenantId, sessionId }: { tenantId: number; sessionId: number },
): TranscriptWriter {
  let lines: string[] = [];
  let characters = 0;
  let parts = 0;
  let bytes = 1; // brackets, and a comma between any two lines

  async function store(): Promise<void> {
    const part = parts;
    const json = `[${lines.join(',')}]`;
    await database.transact(tenantId, (db) => transcriptPartStore(db).put(sessionId, part, json));
    parts += 1;
    lines = [];
    characters = 0;
  }

  return {
    async write(more) {
      for (const line of more) {
        const json = JSON.stringify(line);
        if (characters > 0 && characters + json.length > partCharacters) await store();
        lines.push(json);
        characters += json.length;
        bytes += Buffer.byteLength(json) + 1;
      }
    },
    async end() {
      if (parts === 0) return { json: `[${lines.join(',')}]`, parts, bytes: Math.max(2, bytes) };
      await store();
      return { json: '[]', parts, bytes };
    },
  };
}
