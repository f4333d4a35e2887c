import type { ToolCall } from '../models/model.ts';

/** What is kept with a call, for a process that takes its turn over: what the model said before the round's calls, and how it called. */
export interface RoundNote {
  text: string;
  call: Omit<ToolCall, 'arguments'>;
}

const maxNoteBytes = 100_000;

/** Without what makes it too long: what the model wants to see again beside its call, then its text. */
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
