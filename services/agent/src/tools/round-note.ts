import type { ToolCall } from '../models/model.ts';

/**
 * A note that is stored with a call, for a process that takes the turn over. It contains the model's text before the calls of the round,
 * and the call as the model wrote it.
 */
export interface RoundNote {
  text: string;
  call: Omit<ToolCall, 'arguments'>;
}

const maxNoteBytes = 100_000;

/** Serializes a note. If it is too long, the model's replay data is dropped first, then the text. */
export function writeNote(text: string, { callId, name, replay }: ToolCall): Buffer {
  const notes: RoundNote[] = [
    { text, call: { callId, name, replay } },
    { text, call: { callId, name } },
  ];
  const all = notes.map((note) => Buffer.from(JSON.stringify(note)));
  const shortest = Buffer.from(JSON.stringify({ text: '', call: { callId, name } } satisfies RoundNote));
  return all.find(({ length }) => length <= maxNoteBytes) ?? shortest;
}

export function readNote(bytes: Buffer): RoundNote {
  return JSON.parse(bytes.toString());
}
