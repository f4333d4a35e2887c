import type { CallerRequest } from '@parley/kernel/caller-request';
import type { SharedDb } from '@parley/postgres/database/types';
import type { ProviderPerson } from '../idp-one/provider-person.ts';
import type { Ports } from '../ports.ts';
import { beginSignIn } from '../sign-ins/begin-sign-in.ts';
import { provisionTenant, tenantDefaults } from '../tenants/provision-tenant.ts';
import { tenantStore } from '../tenants/tenant-store.ts';
import { newReferralCode } from './referral-code.ts';
import { userStore } from './user-store.ts';

/**
 * Creates an account without a password, in the tenant of its company or in its own workspace, and signs in. An unverified email is
 * omitted if another account has it.
 * @throws a unique violation if the identity, its verified email or the company's tenant was stored concurrently
 */
export function openIdpOneAccount(
  ports: Ports,
  { caller, signal }: CallerRequest,
  { subject, email, emailVerified, fullname, company }: ProviderPerson,
) {
  const work = async (db: SharedDb) => {
    const users = userStore(db);
    const isKept = email !== null && (emailVerified || !(await users.isTaken({ email })));
    const userId = await users.insert({
      email: isKept ? email : null,
      fullname,
      idpOneSubject: subject,
      referralCode: newReferralCode(),
    });
    const tenantId = company
      ? await joinCompany(db, company, userId)
      : (await provisionTenant(db, { ...tenantDefaults, name: `${fullname}'s Workspace` }, userId)).id;
    return beginSignIn(ports, db, { userId, tenantId, limitedReason: null, ip: caller.ip ?? null });
  };
  // Concurrent sign-ins of the same company would wait for the unique index, each with a database connection. In this queue they wait
  // without a connection.
  const row = company ? `company ${company.id}` : `subject ${subject}`;
  return ports.database.transactShared(work, { lockQueue: { row }, signal });
}

async function joinCompany(
  db: SharedDb,
  { id: idpOneCompany, name }: { id: string; name: string },
  userId: number,
): Promise<number> {
  const tenantId = await tenantStore(db).lockOfCompany(idpOneCompany);
  if (tenantId === undefined) return (await provisionTenant(db, { ...tenantDefaults, name, idpOneCompany }, userId)).id;
  await tenantStore(db).addMember(tenantId, userId);
  await userStore(db).setLastTenant(userId, tenantId);
  return tenantId;
}
