import { whyUnstorable } from '@parley/kernel/input-checks';
import { z } from 'zod';

/** What a judge says of a session. */
export interface Judgement {
  /** 0 to 100. */
  score: number;
  /** A paragraph. */
  summary: string;
  strengths: string[];
  weaknesses: string[];
  /** One of the labels; empty where there are none. */
  recommendation: string;
}

/** A paragraph, with room for a note before it: with that the contract allows 8,000 characters. */
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

/** The JSON Schema that a model is asked to answer in. */
export function judgementSchema(labels: string[]): Record<string, unknown> {
  return z.toJSONSchema(shapeFor(labels), { target: 'draft-7' });
}

/**
 * A model's answer as a judgement; undefined when it does not fit, or holds what cannot be stored. A fence around the JSON is
 * forgiven.
 */
export function readJudgement(text: string, labels: string[]): Judgement | undefined {
  const json = /^\s*```(?:json)?\s*([\s\S]*?)\s*```\s*$/.exec(text)?.[1] ?? text;
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    return undefined;
  }
  const read = shapeFor(labels).safeParse(value);
  return read.success && !whyUnstorable(read.data) ? read.data : undefined;
}
