import type { FinishReason as GraphFinishReason } from '../generated/schema.ts';
import type { FinishReason } from '../models/model.ts';

const shown: Partial<Record<FinishReason, GraphFinishReason>> = {
  stop: 'STOP',
  length: 'LENGTH',
  contentFilter: 'CONTENT_FILTER',
};

/** Returns the finish reason under its name in the schema; null if unknown. */
export function shownReason(finishReason: FinishReason | undefined): GraphFinishReason | null {
  return (finishReason && shown[finishReason]) ?? null;
}
