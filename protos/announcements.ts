import { CredentialsChanged } from './gen/parley/identity/v1/announcements.ts';

// The pub/sub channels for announcements between units, each with the message that is sent on it. Publisher and subscribers share these
// definitions.

/** Cached status of some credentials is outdated. Identity and session publish this message; gateways and evaluation subscribe. */
export const credentialsChanged = { channel: 'parley:sign-ins', message: CredentialsChanged };
