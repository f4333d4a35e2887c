import { CredentialsChanged } from './gen/parley/identity/v1/announcements.ts';

// The pub/sub channels of announcements between units and their messages, shared by publisher and subscribers.

/** Cached status of some credentials is outdated. Identity and session publish this; gateways and evaluation subscribe. */
export const credentialsChanged = { channel: 'parley:sign-ins', message: CredentialsChanged };
