import type { CallerRequest } from '@parley/kernel/caller-request';
import { parseInput } from '@parley/kernel/input';
import type { ValidateSecuredTokenInput } from '../generated/schema.ts';
import type { Ports } from '../ports.ts';
import { presentedToken } from './secured-token.ts';
import { withSecuredToken } from './use-secured-token.ts';

/** Checks a code or token of any purpose without consuming it. Returns true or throws. @throws the errors of `withSecuredToken` */
export async function validateSecuredToken(
  ports: Ports,
  { signal }: CallerRequest,
  input: ValidateSecuredTokenInput,
): Promise<boolean> {
  const given = parseInput(presentedToken, input);
  return withSecuredToken(ports, given, { spends: false, signal }, async () => true);
}
