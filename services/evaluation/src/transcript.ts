import type { TranscriptLine as SaidLine } from '@parley/protos/parley/session/v1/session';

export interface TranscriptLine {
  role: 'USER' | 'MODEL';
  text: string;
  /** The message's index in the session, from 0 without gaps. */
  turnIndex: number;
  /** The time of the message, in ISO 8601 and UTC. */
  createdAt: string;
}

/** Replaces NUL and lone surrogates, which PostgreSQL cannot store, by U+FFFD. */
export function storable(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\uFFFD');
}

export function transcriptOf(lines: SaidLine[]): TranscriptLine[] {
  return lines.map(({ role, text, turnIndex, createdAt }) => ({
    role: role === 'USER' ? 'USER' : 'MODEL',
    text: storable(text),
    turnIndex,
    createdAt: (createdAt ?? new Date(0)).toISOString(),
  }));
}
