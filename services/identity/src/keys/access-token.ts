import { randomUUID } from 'node:crypto';
import { SignJWT } from 'jose';
import type { AccessToken } from '../generated/schema.ts';
import type { Ports } from '../ports.ts';

export type { AccessToken } from '../generated/schema.ts';

/** Signs an access token. It carries no permissions: gateways look these up by `sid`. */
export async function issueTokens(
  { keys, settings, clock }: Ports,
  signIn: { signInId: string; userId: number; refreshToken: string; refreshExpiresIn: number },
): Promise<AccessToken> {
  const { kid, key } = await keys.signingKey();
  const issuedAt = Math.floor(clock().getTime() / 1000);
  const accessToken = await new SignJWT({ sid: signIn.signInId })
    .setProtectedHeader({ alg: 'ES256', kid, typ: 'JWT' })
    .setIssuer(settings.publicUrl)
    .setAudience(settings.publicUrl)
    .setSubject(String(signIn.userId))
    .setIssuedAt(issuedAt)
    .setExpirationTime(issuedAt + settings.accessTokenTtlS)
    .setJti(randomUUID())
    .sign(key);
  return {
    accessToken,
    expiresIn: settings.accessTokenTtlS,
    refreshToken: signIn.refreshToken,
    refreshExpiresIn: signIn.refreshExpiresIn,
  };
}
