import { generateSecret, generateURI, verifySync } from 'otplib';

const periodS = 30;

export const newSecret = (): string => generateSecret();

/**
 * Returns the URI that authenticator apps read from a QR code. The URI contains even default parameters, because some apps require them.
 */
export function otpauthUri(secret: string, account: string): string {
  const uri = generateURI({ issuer: 'Parley', label: account.replaceAll(':', ' '), secret });
  return `${uri}&algorithm=SHA1&digits=6&period=${periodS}`;
}

/** Returns the time step of a code: the current, the previous or the next step. Undefined for a wrong code. Spaces are ignored. */
export function stepOf(secret: string, code: string, now: Date): number | undefined {
  const token = code.replaceAll(/\s/gu, '');
  if (!/^[0-9]{6}$/u.test(token)) return undefined;
  const epoch = Math.floor(now.getTime() / 1000);
  const result = verifySync({ secret, token, epoch, period: periodS, epochTolerance: periodS });
  return result.valid && 'timeStep' in result ? result.timeStep : undefined;
}
