import { randomUUID } from 'node:crypto';
import { hangingHeader, type ProviderAccount } from '../../../services/identity/test/support/identity-provider.ts';
import type { Client, Tokens } from './client.ts';
import { tokenFields } from './client.ts';
import type { TestMesh } from './mesh.ts';

export { idpOneSecret } from '../../../services/identity/test/support/identity-provider.ts';

export const loginWithTicket = `mutation ($ticket: String!) { loginWithIdpOne(ticket: $ticket) { ${tokenFields} } }`;

/** Returns a new user with a verified email for the identity provider. No other story uses this user. */
export function newProviderAccount(given: Partial<ProviderAccount> = {}): ProviderAccount {
  const name = randomUUID();
  return { subject: name, email: `${name}@example.com`, emailVerified: true, fullname: 'Grace Hopper', ...given };
}

/**
 * Signs in at the mesh's identity provider like a browser, and returns the ticket.
 * @param hanging if given, the provider never responds to exchanges of this ticket, and counts them under this name
 */
export async function ticketFor({ settings }: TestMesh, account: ProviderAccount, hanging?: string): Promise<string> {
  const response = await fetch(`${settings['IDP_ONE_URL']}/login`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-client-id': settings['IDP_ONE_CLIENT_ID'] ?? '',
      ...(hanging !== undefined && { [hangingHeader]: hanging }),
    },
    body: JSON.stringify(account),
  });
  const { ticket } = (await response.json()) as { ticket: string };
  return ticket;
}

/** Returns how many exchanges of tickets with this `hanging` name the provider has received. */
export async function hangingExchanges({ settings }: TestMesh, hanging: string): Promise<number> {
  return (await fetch(`${settings['IDP_ONE_URL']}/hanging/${hanging}`)).json() as Promise<number>;
}

/** Returns a client that has signed in with a ticket. */
export async function enter(mesh: TestMesh, account: ProviderAccount): Promise<Client> {
  const client = mesh.visitor();
  client.tokens = await client.value<Tokens>(loginWithTicket, { ticket: await ticketFor(mesh, account) });
  return client;
}
