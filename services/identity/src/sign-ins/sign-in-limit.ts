export type SignInLimit = 'TWO_FACTOR_REQUIRED' | 'EMAIL_PROOF_REQUIRED';

export interface LimitingState {
  hasTwoFactor: boolean;
  emailProofRequired: boolean;
}

/** Null: a new sign-in is complete. The email proof comes first, because only a new password ends that limit. */
export function limitOf(
  { hasTwoFactor, emailProofRequired }: LimitingState,
  method: 'PASSWORD' | 'IDP_ONE',
): SignInLimit | null {
  if (emailProofRequired && method === 'PASSWORD') return 'EMAIL_PROOF_REQUIRED';
  return hasTwoFactor ? 'TWO_FACTOR_REQUIRED' : null;
}
