import { DomainError } from '@parley/kernel/errors';
import type { AuthProvider } from '../generated/schema.ts';

export function servedProvider(provider: AuthProvider): 'PASSWORD' | 'IDP_ONE' {
  if (provider === 'PASSWORD' || provider === 'IDP_ONE') return provider;
  throw new DomainError('notImplemented', `Signing in with ${provider} is not implemented`);
}
