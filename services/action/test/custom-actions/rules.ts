import { jsonSchemas } from '@parley/json-schema/json-schemas';
import type { DomainError } from '@parley/kernel/errors';
import { outbound } from '@parley/outbound/outbound';
import type { ExecutionContext } from 'ava';
import { pino } from 'pino';
import type { ActionRules } from '../../src/custom-actions/action-input.ts';
import type { CustomAction } from '../../src/custom-actions/custom-action.ts';

/** Input rules with the real outbound guard and schema validator. */
export const rules: ActionRules = {
  outbound: outbound({ allowlist: [], ports: ['80', '443'], log: pino({ enabled: false }) }),
  schemas: jsonSchemas(),
};

export const url = 'https://api.example.test/orders';

/** An action without a credential. */
export const plainAction: CustomAction = {
  id: 7,
  tenantId: 3,
  name: 'Order',
  description: 'Looks up an order',
  url,
  method: 'POST',
  argsSchema: { type: 'object' },
  extraHeaders: { 'X-Kind': 'order' },
  credentialSecretHeaderName: null,
  credentialSource: null,
  storedCredential: null,
  messagingRegion: null,
};

export const withBearer: CustomAction = { ...plainAction, storedCredential: 'BEARER' };
export const withHeader: CustomAction = { ...withBearer, credentialSecretHeaderName: 'X-Api-Key' };
export const withMessaging: CustomAction = {
  ...plainAction,
  credentialSource: 'MESSAGING_TENANT',
  storedCredential: 'MESSAGING',
  messagingRegion: 'REGION_INTL',
};
export const withPartner: CustomAction = { ...plainAction, credentialSource: 'PARTNER_B' };
export const withSession: CustomAction = { ...plainAction, credentialSource: 'SESSION_PARTNER_A' };

/** Returns the problems of a refused input as sentences. */
export function refusal(t: ExecutionContext, work: () => unknown): string[] {
  const { kind, fields } = t.throws<DomainError>(work);
  t.is(kind, 'invalid');
  return fields.map(({ path, message }) => `${path} ${message}`);
}
