import { estimateTokens } from '@parley/text/token-estimate';
import { alternateRoles } from './alternate-roles.ts';
import type { ModelRequest } from './model.ts';

export function estimateRequestTokens(request: ModelRequest): number {
  const { system, messages } = alternateRoles(request);
  return estimateTokens(system, ...messages.map(({ text }) => text));
}
