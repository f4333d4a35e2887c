export type SignInLimit = 'TWO_FACTOR_REQUIRED' | 'EMAIL_PROOF_REQUIRED';

export interface LimitingState {
  hasTwoFactor: boolean;
  emailProofRequired: boolean;
}

/**
 * Returns the limit of a new sign-in; null if the sign-in is complete. `EMAIL_PROOF_REQUIRED` takes precedence, because only a new password
 * lifts it.
 */
export function limitOf(
  { hasTwoFactor, emailProofRequired }: LimitingState,
  method: 'PASSWORD' | 'IDP_ONE',
): SignInLimit | null {
  if (emailProofRequired && method === 'PASSWORD') return 'EMAIL_PROOF_REQUIRED';
  return hasTwoFactor ? 'TWO_FACTOR_REQUIRED' : null;
}
