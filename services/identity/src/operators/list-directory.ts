import type { CallerRequest } from '@parley/kernel/caller-request';
import { invalid } from '@parley/kernel/errors';
import { anyText, parseInput } from '@parley/kernel/input';
import type { ListTenantsRequest, ListUsersRequest } from '@parley/protos/parley/identity/v1/admin';
import { z } from 'zod';
import { normalEmail } from '../accounts/email-address.ts';
import { readPhoneQuery } from '../accounts/phone-number.ts';
import type { Ports } from '../ports.ts';
import { directoryStore, type ListedTenant, type ListedUser } from './directory-store.ts';
import { operatorOf } from './operator.ts';
import { first, id, type Paged, paged, place } from './page.ts';

const tenantFilter = z.object({ id, name: anyText(255), owner: anyText(320), first, after: place });
const userFilter = z.object({ id, email: anyText(320), phone: anyText(100), tenant: id, first, after: place });

export async function listTenants(
  { database }: Ports,
  { caller }: CallerRequest,
  input: ListTenantsRequest,
): Promise<Paged<ListedTenant>> {
  operatorOf(caller);
  const { owner, first, ...filter } = parseInput(tenantFilter, input, '');
  const listing = { ...filter, ownerEmail: normalEmail(owner), limit: first + 1 };
  return paged(await database.transactShared((db) => directoryStore(db).listTenants(listing)), first);
}

export async function listUsers(
  { database }: Ports,
  { caller }: CallerRequest,
  input: ListUsersRequest,
): Promise<Paged<ListedUser>> {
  operatorOf(caller);
  const { first, ...filter } = parseInput(userFilter, input, '');
  const phone = filter.phone.trim() === '' ? null : readPhoneQuery(filter.phone);
  if (phone === undefined) throw invalid({ path: 'phone', message: 'is no phone number' });
  const listing = { ...filter, email: normalEmail(filter.email), phone, limit: first + 1 };
  return paged(await database.transactShared((db) => directoryStore(db).listUsers(listing)), first);
}
