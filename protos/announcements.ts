import { CredentialsChanged } from './gen/parley/identity/v1/announcements.ts';

// What units announce to each other over pub/sub: on which channel, in which message. Publisher and subscribers take both from here.

/** What is remembered of some credentials no longer holds. Identity and session publish it; gateways and evaluation listen. */
export const credentialsChanged = { channel: 'parley:sign-ins', message: CredentialsChanged };
