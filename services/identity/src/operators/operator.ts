import type { Caller } from '@parley/kernel/caller';
import { forbidden } from '@parley/kernel/errors';
import { textProblem } from '@parley/kernel/input';

/**
 * Returns the name of the operator who calls.
 * @throws DomainError `forbidden` with `OPERATOR_ONLY` if the caller is not an operator, or if the name is not valid
 */
export function operatorOf({ kind, displayName = '' }: Caller): string {
  if (kind !== 'operator') throw forbidden('Only operators of this platform may do this', 'OPERATOR_ONLY');
  const problem = textProblem(displayName, 100);
  if (problem) throw forbidden(`The name of an operator ${problem}`, 'OPERATOR_ONLY');
  return displayName;
}
