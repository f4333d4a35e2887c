import type { SecretBox } from '@parley/kernel/secrets/secret-box';
import type { CallResult } from './call-result.ts';
import type { CallName } from './turn-call-store.ts';

type Sealed = 'note' | 'arguments' | 'result';
type Place = CallName & { tenantId: number };

/** Returns the place (the additional authenticated data, AAD) that a sealed part of a call is bound to. */
export function callPlace(part: Sealed, { tenantId, turn, call }: Place): string {
  return `action.turn_calls.${part}:${JSON.stringify([tenantId, turn, call])}`;
}

export function sealedResult(box: Pick<SecretBox, 'seal'>, place: Place, result: CallResult): Buffer {
  return box.seal(JSON.stringify(result), callPlace('result', place));
}

export function openedResult(box: Pick<SecretBox, 'open'>, place: Place, sealed: Buffer): CallResult {
  return JSON.parse(box.open(sealed, callPlace('result', place)).toString()) as CallResult;
}
