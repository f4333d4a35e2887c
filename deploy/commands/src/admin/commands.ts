/**
 * The words to type, the method to call (a method of identity unless a unit is named), the description, and constant fields of the request.
 */
type AdminCommand = readonly [typed: string, calls: string, does: string, always?: object];

export const adminCommands: readonly AdminCommand[] = [
  ['tenants', 'ListTenants', 'finds tenants: --id, --name, --owner EMAIL, --first, --after'],
  ['users', 'ListUsers', 'finds users: --id, --email, --phone, --tenant, --first, --after'],
  ['suspend-tenant TENANT', 'SetTenantSuspension', 'suspends a tenant', { suspended: true }],
  ['restore-tenant TENANT', 'SetTenantSuspension', 'ends the suspension of a tenant', { suspended: false }],
  ['set-plan TENANT PLAN', 'SetPlan', 'raises or lowers a plan: DEV, PRO or ENTERPRISE'],
  ['set-cap TENANT USD', 'SetMonthlyCap', "sets the monthly cap of a tenant, which replaces its plan's"],
  ['clear-cap TENANT', 'SetMonthlyCap', "restores the cap of the tenant's plan"],
  ['set-quota TENANT QUOTA AMOUNT', 'SetQuota', 'sets a quota of a tenant: knowledge-bases, chunks or storage-mb'],
  ['clear-quota TENANT QUOTA', 'SetQuota', "restores the quota of the tenant's plan"],
  ['confirm-billing TENANT', 'SetIdpOneBilling', 'records that IDP_ONE bills a tenant', { confirmed: true }],
  ['withdraw-billing TENANT', 'SetIdpOneBilling', 'removes that record', { confirmed: false }],
  ['pass-ownership TENANT USER', 'PassOwnership', 'makes an active member the owner of a tenant'],
  ['usage TENANT', 'GetTenantUsage', "shows the cost of a tenant's model calls"],
  ['secrets TENANT', 'ListTenantSecrets', "lists the names of a tenant's secrets"],
  ['set-secret TENANT NAME < VALUE', 'PutTenantSecret', 'stores a secret, whose value is read from standard input'],
  ['remove-secret TENANT NAME', 'RemoveTenantSecret', 'removes a secret'],
  ['suspend-user USER', 'SetUserSuspension', 'suspends an account and revokes its sign-ins', { suspended: true }],
  ['restore-user USER', 'SetUserSuspension', 'ends the suspension of an account', { suspended: false }],
  ['revoke-sign-ins USER', 'RevokeSignIns', 'revokes all sign-ins of a user'],
  ['remove-two-factor USER', 'RemoveTwoFactor', "removes a user's two-factor secret, e.g. a lost one"],
  ['invite CONTACT', 'IssueInvitation', 'sends an invitation to register to an email address or phone number'],
  ['keys', 'ListSigningKeys', 'lists the keys that sign access tokens'],
  ['rotate-key', 'RotateAccessTokenKey', 'makes a new signing key, which is used half an hour later'],
  ['partner list TENANT', 'action ListPartnerCredentials', 'lists the partners of which a tenant has credentials'],
  [
    'partner set TENANT PARTNER < VALUE',
    'action PutPartnerCredential',
    'stores a credential of PARTNER_A, _B or _C, which is read from standard input',
  ],
  ['partner remove TENANT PARTNER', 'action RemovePartnerCredential', 'removes a credential'],
  [
    'action create TENANT',
    'action CreatePartnerAction',
    'makes an action that uses a credential: --source PARTNER, --name, --url, --method, --description, --schema',
  ],
  ['action audit', 'action ListAudit', 'lists changes of partner credentials and actions: --tenant, --first, --before'],
  [
    'sync list TENANT',
    'session ListSyncDeliveries',
    "lists deliveries of evaluations to a tenant's systems: --agent, --status, --first, --before",
  ],
  ['sync redeliver TENANT DELIVERY', 'session RedeliverSync', 'repeats a delivery with the same webhook id'],
  ['sync audit', 'session ListAudit', 'lists deliveries that operators repeated: --tenant, --first, --before'],
  ['audit', 'ListAudit', 'lists changes by operators: --tenant, --user, --first, --before'],
];

/** Returns the usage text: one line per admin command, each beginning with `name`. */
export function adminCommandList(name: string): string {
  return adminCommands.map(([typed, , does]) => `  ${name} ${typed.padEnd(32)}${does}\n`).join('');
}

/** Splits the usage line of a command into the words of its name, its arguments, and the argument that is read from standard input. */
export function wordsOf(typed: string): { name: string[]; wanted: string[]; fromInput: string | undefined } {
  const [words = '', fromInput] = typed.split(' < ');
  const isArgument = (word: string) => /^[A-Z]+$/u.test(word);
  const all = words.split(' ');
  return { name: all.filter((word) => !isArgument(word)), wanted: all.filter(isArgument), fromInput };
}

/** Finds the command whose name is at the start of the typed words. */
export function commandOf(positionals: readonly string[]): AdminCommand | undefined {
  return adminCommands.find(([typed]) => wordsOf(typed).name.every((word, n) => positionals[n] === word));
}

/** For each argument of a command, the field of the request that it fills. */
export const fieldOf: Record<string, string> = {
  TENANT: 'tenantId',
  USER: 'userId',
  PLAN: 'plan',
  USD: 'monthlyCapUsdE8',
  QUOTA: 'quota',
  AMOUNT: 'amount',
  NAME: 'name',
  CONTACT: 'contact',
  PARTNER: 'partner',
  DELIVERY: 'deliveryId',
  VALUE: 'value',
};

/** Filters and optional values; each is a field of the request. */
export const filters = [
  'id',
  'name',
  'owner',
  'email',
  'phone',
  'tenant',
  'user',
  'first',
  'after',
  'before',
  'source',
  'url',
  'method',
  'description',
  'schema',
  'agent',
  'status',
] as const;
