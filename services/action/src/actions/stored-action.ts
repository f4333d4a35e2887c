import { column, type RowOf, table } from '@parley/postgres/database/table';
import type { CustomAction } from '../custom-actions/custom-action.ts';

/** The columns of an action without its credential, which is read separately. */
export const customActions = table('custom_actions', {
  id: column<number>(),
  tenantId: column<number>(),
  name: column<string>(),
  description: column<string | null>({ long: 'NULL' }),
  url: column<string>(),
  method: column<CustomAction['method']>(),
  argsSchema: column<CustomAction['argsSchema']>({ json: true, long: 'NULL' }),
  extraHeaders: column<CustomAction['extraHeaders']>({ json: true, long: 'NULL' }),
  credentialSecretHeaderName: column<string | null>(),
  credentialSource: column<CustomAction['credentialSource']>(),
  storedCredential: column<CustomAction['storedCredential']>(),
  messagingRegion: column<CustomAction['messagingRegion']>(),
  createdAt: column<Date>(),
  updatedAt: column<Date>(),
});
export type StoredAction = RowOf<typeof customActions>;

/** An action with its credential, as it is stored. */
export type SealedAction = StoredAction & { credentialSealed: Buffer | null };
