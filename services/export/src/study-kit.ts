import type { Excerpt } from './excerpt.ts';
import type { Highlights, SaidMessage } from './highlights.ts';
import { type Line, lineOf, linesOf } from './printable-text.ts';

/** A message of a transcript. */
export interface TranscriptMessage extends SaidMessage {
  /** The message's index in the session, from 0 without gaps. */
  turnIndex: number;
  createdAt: Date;
}

/** The evaluation of a session. */
export interface Judgement {
  score: number;
  summary: string;
  strengths: readonly string[];
  weaknesses: readonly string[];
  recommendation: string;
}

/** The content of a study kit. */
export interface StudyKitContent {
  sessionId: number;
  agent: { name: string; position: string; subject: string };
  /** Whether the session is still open. */
  isActive: boolean;
  transcript: Excerpt<TranscriptMessage>;
  /** The time of the session's first message; undefined if the session has no messages. */
  from: Date | undefined;
  /** The time of the session's last message; undefined if the session has no messages. */
  until: Date | undefined;
  highlights: Highlights;
  evaluation: Judgement | undefined;
}

/** The data for the template. The template shows all values literally. */
export interface StudyKit {
  /** The date in the PDF's metadata: the time of the last message. */
  date: { year: number; month: number; day: number; hour: number; minute: number; second: number } | null;
  session: number;
  agent: Line;
  position: Line | null;
  subject: Line | null;
  period: string | null;
  messages: number;
  isActive: boolean;
  first: ShownMessage[];
  leftOut: number;
  last: ShownMessage[];
  evaluation: {
    score: number;
    recommendation: Line | null;
    summary: Line[];
    strengths: Line[];
    weaknesses: Line[];
  } | null;
  keyPoints: Line[];
  questions: Line[];
}

interface ShownMessage {
  number: number;
  byPerson: boolean;
  at: string;
  lines: Line[];
}

/** Parses the JSON of a study kit's content. */
export function parseContent(json: string): StudyKitContent {
  return JSON.parse(json, (key, value) => (dates.has(key) ? new Date(value) : value));
}

const dates = new Set(['createdAt', 'from', 'until']);

/** Lays out the content for the template. The same content gives the same study kit, wherever it is made. */
export function studyKit(content: StudyKitContent): StudyKit {
  const { sessionId, agent, isActive, transcript, from, until, highlights, evaluation } = content;
  const { first, leftOut, last } = transcript;
  const optional = (text: string) => (text.trim() === '' ? null : lineOf(text, 200));
  return {
    date: until ? dateOf(until) : null,
    session: sessionId,
    agent: lineOf(agent.name, 200),
    position: optional(agent.position),
    subject: optional(agent.subject),
    period: from && until ? periodOf(from, until) : null,
    messages: first.length + leftOut + last.length,
    isActive,
    first: first.map(shown),
    leftOut,
    last: last.map(shown),
    evaluation: evaluation
      ? {
          score: evaluation.score,
          recommendation: optional(evaluation.recommendation),
          summary: linesOf(evaluation.summary),
          strengths: evaluation.strengths.map((each) => lineOf(each)),
          weaknesses: evaluation.weaknesses.map((each) => lineOf(each)),
        }
      : null,
    keyPoints: highlights.statements.map((each) => lineOf(each)),
    questions: highlights.questions.map((each) => lineOf(each)),
  };
}

function shown({ role, text, turnIndex, createdAt }: TranscriptMessage): ShownMessage {
  return { number: turnIndex + 1, byPerson: role === 'USER', at: minuteOf(createdAt), lines: linesOf(text) };
}

/** Formats a time in UTC, because the reader's time zone is unknown. */
function minuteOf(date: Date): string {
  return date.toISOString().slice(0, 16).replace('T', ' ');
}

function periodOf(from: Date, until: Date): string {
  const [start, end] = [minuteOf(from), minuteOf(until)];
  if (start === end) return `${start} UTC`;
  return start.slice(0, 10) === end.slice(0, 10) ? `${start} – ${end.slice(11)} UTC` : `${start} – ${end} UTC`;
}

function dateOf(date: Date) {
  return {
    year: date.getUTCFullYear(),
    month: date.getUTCMonth() + 1,
    day: date.getUTCDate(),
    hour: date.getUTCHours(),
    minute: date.getUTCMinutes(),
    second: date.getUTCSeconds(),
  };
}
