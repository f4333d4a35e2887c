import { storageProblem } from '@parley/kernel/input-checks';
import { parseJson } from '@parley/kernel/json';
import { z } from 'zod';

export type Judgement = z.output<ReturnType<typeof shapeFor>>;

/** The contract allows 8,000 characters; the rest is for the note on a shortened conversation. */
const maxSummary = 7_700;

const point = z.string().trim().min(1).max(1_000);

function shapeFor(labels: string[]) {
  return z.object({
    score: z.int().min(0).max(100),
    summary: z.string().trim().min(1).max(maxSummary),
    strengths: z.array(point).max(20),
    weaknesses: z.array(point).max(20),
    recommendation: labels.length > 0 ? z.enum(labels as [string, ...string[]]) : z.literal(''),
  });
}

export function judgementSchema(labels: string[]): Record<string, unknown> {
  return z.toJSONSchema(shapeFor(labels), { target: 'draft-7' });
}

/**
 * Parses a judgement, with or without a Markdown code fence. Returns undefined if the text does not match the schema or cannot be stored.
 */
export function readJudgement(text: string, labels: string[]): Judgement | undefined {
  const json = /^\s*```(?:json)?\s*([\s\S]*?)\s*```\s*$/.exec(text)?.[1] ?? text;
  const read = shapeFor(labels).safeParse(parseJson(json));
  return read.success && !storageProblem(read.data) ? read.data : undefined;
}
