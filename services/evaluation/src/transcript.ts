import type { TranscriptLine as SaidLine } from '@parley/protos/parley/session/v1/session';

export interface TranscriptLine {
  role: 'USER' | 'MODEL';
  text: string;
  /** Index in the session, from 0 without gaps. */
  turnIndex: number;
  /** ISO 8601 in UTC. */
  createdAt: string;
}

/** Replaces what PostgreSQL cannot store, NUL and lone surrogates, by U+FFFD. */
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
