import type { TextPlace } from './served-operations.ts';

/** What is sent at a place so that a text stands in it, and could be taken: as it is, but where only some form is. */
export function valueWith(text: string, { path, type }: TextPlace): unknown {
  const form = forms[path.split('.').at(-1) ?? ''];
  if (form) return form(text);
  return type === 'JSON' ? { text, list: [text], keys: { [text]: 1 } } : text;
}

const inUrl = (text: string) => `https://example.com/${text}`;

const forms: Record<string, (text: string) => unknown> = {
  externalSyncUrl: inUrl,
  liveTalkingUrl: inUrl,
  externalSyncSchemaConfig: (text) => ({ [text]: text }),
  avatarBackendConfig: (text) => ({ vendorAvatarId: text, vendorAvatarModel: text }),
};

/** The few places where none of the texts is ever taken: why, and the one thing that is said of each that can be stored. */
export const neverTaken: Record<string, { why: string; said: RegExp }> = {
  ...both('externalSyncSecretRef', {
    why: 'no secret can be provisioned yet',
    said: /^input\.externalSyncSecretRef names no secret that was provisioned for this tenant$/,
  }),
  'login input.email': { why: 'looked for, and nobody has it', said: /^Wrong credentials$/ },
  'login input.phoneNumber': { why: 'looked for, and nobody has it', said: /^Wrong credentials$/ },
  'login input.password': {
    why: 'nobody has it; what somebody has is tried where passwords are given',
    said: /^Wrong credentials$/,
  },
  'refreshToken input.refreshToken': { why: 'nobody was given it', said: /^Invalid or expired refresh token$/ },
  'register input.email': { why: 'no mail could go there', said: /^input\.email is not an email address$/ },
  'register input.phoneCode': { why: 'nobody could be called', said: /^input\.phoneNumber is not a possible phone/ },
  'register input.phoneNumber': { why: 'nobody could be called', said: /^input\.phoneNumber is not a possible phone/ },
  'register input.referralCode': {
    why: 'is to be that of another user',
    said: /^input\.referralCode (is nobody’s|must not be blank|must have at most 64 characters)$/,
  },
  'register token.token': { why: 'nobody was sent it', said: /^The code or link is not valid$/ },
  'register token.contact': { why: 'nothing was sent there', said: /^The code or link is not valid$/ },
};

function both<T>(name: string, exception: T): Record<string, T> {
  return Object.fromEntries(
    ['createAgent', 'updateAgent'].map((operation) => [`${operation} input.${name}`, exception]),
  );
}

/** What stands beside the walked place. */
export function goodValues(): Record<string, unknown> {
  const some = Math.random().toString(36).slice(2);
  return {
    'input.email': `${some}@example.com`,
    'input.password': `${some} passphrase ${some}`,
    'input.newPassword': `${some} passphrase ${some}`,
    'input.fullname': 'Ada Lovelace',
    'input.phoneCode': '+44',
    'input.phoneNumber': `7${String(Math.random()).slice(2, 11).padEnd(9, '1')}`,
    'input.name': 'Maya',
    'input.personaPrompt': 'You are Maya.',
    'input.position': 'Engineer',
    'input.useCase': 'INTERVIEW',
    'input.clientExternalId': 'customer-1',
    'input.text': 'Hello.',
  };
}

/** Optional ones that have to be there all the same. */
export function isRequired(operation: string, path: string): boolean {
  const needed: Record<string, string[]> = {
    login: ['input.email', 'input.password'],
    register: ['input.email', 'input.password', 'input.fullname', 'input.phoneCode', 'input.phoneNumber'],
    changePassword: ['input.newPassword'],
    createAgent: ['input.name', 'input.personaPrompt', 'input.position', 'input.useCase'],
    createTenant: ['input.name'],
    sendMessage: ['input.text'],
    startSession: ['input.clientExternalId'],
  };
  return needed[operation]?.includes(path) ?? false;
}
