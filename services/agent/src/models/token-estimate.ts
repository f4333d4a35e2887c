import { estimateTokens } from '@parley/text/token-estimate';
import type { ModelRequest } from './model.ts';
import { textsOf } from './request-texts.ts';

export function estimateRequestTokens(request: ModelRequest): number {
  return estimateTokens(...textsOf(request));
}
