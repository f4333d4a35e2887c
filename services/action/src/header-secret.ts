import { rule, textProblem } from '@parley/kernel/input';
import { headerProblem } from '@parley/outbound/header-problem';
import { z } from 'zod';

/** Validates a credential that is sent in a header. Error messages never contain it. */
export function headerSecret(maxLength: number) {
  return z.string().check(
    rule((secret) => {
      const problem = textProblem(secret, maxLength);
      if (problem) return problem;
      if (secret !== secret.trim()) return 'must not begin or end with a space';
      return headerProblem('authorization', secret) ? 'must hold characters of a header only' : undefined;
    }),
  );
}
