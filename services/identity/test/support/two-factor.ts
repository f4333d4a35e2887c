import { generateSync } from 'otplib';
import type { Ports } from '../../src/ports.ts';
import { type IdentityApp, signUp } from './identity-app.ts';

export function codeOf({ clock }: Pick<Ports, 'clock'>, secret: string, steps = 0): string {
  return generateSync({ secret, epoch: Math.floor(clock().getTime() / 1000) + 30 * steps });
}

/**
 * Stops the clock by which codes are checked, so that no test depends on the second in which it runs.
 * @returns a function that moves the clock by time steps
 */
export function holdClock(ports: Ports): (steps: number) => void {
  let nowMs = Date.UTC(2031, 4, 7, 12);
  ports.clock = () => new Date(nowMs);
  return (steps) => {
    nowMs += steps * 30_000;
  };
}

export async function signUpWithTwoFactor({ app, ports }: Pick<IdentityApp, 'app' | 'ports'>) {
  const user = await signUp(app);
  const { secret } = await app.generateTwoFactor(user.caller);
  await app.bindTwoFactor(user.caller, { secret, code: codeOf(ports, secret) });
  return { ...user, secret, code: (steps = 0) => codeOf(ports, secret, steps) };
}
