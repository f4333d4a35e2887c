import type { Caller } from '@parley/kernel/caller';
import { forbidden } from '@parley/kernel/errors';

/** @throws DomainError `forbidden` if the caller is not the parser */
export function requireParser({ kind, service }: Caller): void {
  if (kind !== 'service' || service !== 'parser') throw forbidden('Only the parser parses documents');
}
