import type { FinishReason as GraphFinishReason } from '../generated/schema.ts';
import type { FinishReason } from '../models/model.ts';

const shown: Partial<Record<FinishReason, GraphFinishReason>> = {
  stop: 'STOP',
  length: 'LENGTH',
  contentFilter: 'CONTENT_FILTER',
};

/** How a text ended, as the contract names it; null where that is not known. */
export function shownReason(finishReason: FinishReason | undefined): GraphFinishReason | null {
  return (finishReason && shown[finishReason]) ?? null;
}
