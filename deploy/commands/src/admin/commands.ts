/**
 * The words to type, the method to call (a method of identity unless a unit is named), the description, and constant fields of the request.
 */
type AdminCommand = readonly [typed: string, calls: string, does: string, always?: object];

export const adminCommands: readonly AdminCommand[] = [
  ['tenants', 'ListTenants', 'finds tenants: --id, --name, --owner EMAIL, --first, --after'],
  ['users', 'ListUsers', 'finds users: --id, --email, --phone, --tenant, --first, --after'],
  ['suspend-tenant TENANT', 'SetTenantSuspension', 'closes a tenant', { suspended: true }],
  ['restore-tenant TENANT', 'SetTenantSuspension', 'opens it again', { suspended: false }],
  ['set-plan TENANT PLAN', 'SetPlan', 'raises or lowers a plan: DEV, PRO or ENTERPRISE'],
  ['set-cap TENANT USD', 'SetMonthlyCap', "sets what it may spend in a month, in place of its plan's cap"],
  ['clear-cap TENANT', 'SetMonthlyCap', "brings back its plan's cap"],
  ['set-quota TENANT QUOTA AMOUNT', 'SetQuota', 'sets how much it may keep: knowledge-bases, chunks or storage-mb'],
  ['clear-quota TENANT QUOTA', 'SetQuota', "brings back its plan's quota"],
  ['confirm-billing TENANT', 'SetIdpOneBilling', 'notes that IDP_ONE bills it', { confirmed: true }],
  ['withdraw-billing TENANT', 'SetIdpOneBilling', 'withdraws that', { confirmed: false }],
  ['pass-ownership TENANT USER', 'PassOwnership', 'makes an active member its owner'],
  ['usage TENANT', 'GetTenantUsage', 'shows what its calls of models have cost'],
  ['secrets TENANT', 'ListTenantSecrets', 'lists the names of its secrets'],
  ['set-secret TENANT NAME < VALUE', 'PutTenantSecret', 'stores a secret; its value comes from the standard input'],
  ['remove-secret TENANT NAME', 'RemoveTenantSecret', 'removes it'],
  ['suspend-user USER', 'SetUserSuspension', 'closes an account and ends its sign-ins', { suspended: true }],
  ['restore-user USER', 'SetUserSuspension', 'lets them sign in again', { suspended: false }],
  ['revoke-sign-ins USER', 'RevokeSignIns', 'ends all sign-ins of a user'],
  ['remove-two-factor USER', 'RemoveTwoFactor', 'removes a two-factor secret that its user has lost'],
  ['invite CONTACT', 'IssueInvitation', 'sends an invitation to register to an email or a phone number'],
  ['keys', 'ListSigningKeys', 'lists the keys that sign access tokens'],
  ['rotate-key', 'RotateAccessTokenKey', 'makes a new one, which signs half an hour later'],
  ['partner list TENANT', 'action ListPartnerCredentials', 'lists the partners that it has credentials of'],
  [
    'partner set TENANT PARTNER < VALUE',
    'action PutPartnerCredential',
    'stores its credential of PARTNER_A, _B or _C, which comes from the standard input',
  ],
  ['partner remove TENANT PARTNER', 'action RemovePartnerCredential', 'removes it'],
  [
    'action create TENANT',
    'action CreatePartnerAction',
    'makes an action that is called with it: --source PARTNER, --name, --url, --method, --description, --schema',
  ],
  ['action audit', 'action ListAudit', 'shows what operators have changed of these: --tenant, --first, --before'],
  [
    'sync list TENANT',
    'session ListSyncDeliveries',
    'lists deliveries of evaluations to its systems: --agent, --status, --first, --before',
  ],
  ['sync redeliver TENANT DELIVERY', 'session RedeliverSync', 'sends one once more, under the same webhook id'],
  ['sync audit', 'session ListAudit', 'shows what operators have changed of these: --tenant, --first, --before'],
  ['audit', 'ListAudit', 'shows what operators have changed: --tenant, --user, --first, --before'],
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

/** The field of a request that an argument fills. */
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
