import { getAuthProfile } from '../accounts/get-auth-profile.ts';
import { isRegisterable } from '../accounts/is-registerable.ts';
import { linkIdentity } from '../accounts/link-identity.ts';
import { register } from '../accounts/register.ts';
import { unlinkIdentity } from '../accounts/unlink-identity.ts';
import { generateApiKey } from '../api-keys/generate-api-key.ts';
import { changePassword } from '../passwords/change-password.ts';
import { forgotPasswordWithOtp } from '../passwords/forgot-password-with-otp.ts';
import { resetUserPasswordWithUrl } from '../passwords/reset-user-password-with-url.ts';
import { generateOtp } from '../secured-tokens/generate-otp.ts';
import { validateSecuredToken } from '../secured-tokens/validate-secured-token.ts';
import { login } from '../sign-ins/login.ts';
import { loginWithIdpOne } from '../sign-ins/login-with-idp-one.ts';
import { refreshSignIn } from '../sign-ins/refresh-sign-in.ts';
import { apiUsageBreakdown, apiUsageSummary } from '../spend/api-usage-summary.ts';
import { createTenant } from '../tenants/create-tenant.ts';
import { deleteTenant } from '../tenants/delete-tenant.ts';
import { getAvatarConfig } from '../tenants/get-avatar-config.ts';
import { myTenant } from '../tenants/my-tenant.ts';
import { myTenants } from '../tenants/my-tenants.ts';
import { setPrimaryBillingAccount } from '../tenants/set-primary-billing-account.ts';
import { switchTenant } from '../tenants/switch-tenant.ts';
import { updateTenant } from '../tenants/update-tenant.ts';
import { upsertAvatarConfig } from '../tenants/upsert-avatar-config.ts';
import { bindTwoFactor } from '../two-factor/bind-two-factor.ts';
import { generateTwoFactor } from '../two-factor/generate-two-factor.ts';
import { unbindTwoFactor } from '../two-factor/unbind-two-factor.ts';
import { verifyTwoFactor } from '../two-factor/verify-two-factor.ts';
import type { Resolvers } from './generated/resolvers.ts';

export const resolvers: Resolvers = {
  Query: {
    isRegisterable: (_, input, { ports }) => isRegisterable(ports, input),
    getAuthProfile: (_, __, { ports, request }, info) => getAuthProfile(ports, request(info)),
    myTenant: (_, __, { ports, request }, info) => myTenant(ports, request(info)),
    myTenants: (_, __, { ports, answer, request }, info) => myTenants(answer.reading(ports, info), request(info)),
    apiUsageSummary: (_, __, { ports, tenantRequest }, info) => apiUsageSummary(ports, tenantRequest(info)),
    avatarConfig: (_, __, { ports, tenantRequest }, info) => getAvatarConfig(ports, tenantRequest(info)),
  },

  Mutation: {
    login: (_, { input }, { ports, request }, info) => login(ports, request(info), input),
    refreshToken: (_, { input }, { ports, request }, info) => refreshSignIn(ports, request(info), input),
    register: (_, args, { ports, request }, info) => register(ports, request(info), args),
    generateOTP: (_, { input }, { ports, request }, info) => generateOtp(ports, request(info), input),
    validateSecuredToken: (_, { input }, { ports, request }, info) => validateSecuredToken(ports, request(info), input),
    resetUserPasswordWithUrl: (_, { input }, { ports, request }, info) =>
      resetUserPasswordWithUrl(ports, request(info), input),
    forgotPasswordWithOTP: (_, { input }, { ports, request }, info) =>
      forgotPasswordWithOtp(ports, request(info), input),
    loginWithIdpOne: (_, given, { ports, request }, info) => loginWithIdpOne(ports, request(info), given),
    linkIdentity: (_, given, { ports, request }, info) => linkIdentity(ports, request(info), given),
    unlinkIdentity: (_, given, { ports, request }, info) => unlinkIdentity(ports, request(info), given),
    changePassword: (_, { input }, { ports, request }, info) => changePassword(ports, request(info), input),
    setPrimaryBillingAccount: (_, input, { ports, tenantRequest }, info) =>
      setPrimaryBillingAccount(ports, tenantRequest(info), input),
    generateTwoFactor: (_, __, { ports, request }, info) => generateTwoFactor(ports, request(info)),
    bindTwoFactor: (_, { input }, { ports, request }, info) => bindTwoFactor(ports, request(info), input),
    verifyTwoFactor: (_, input, { ports, request }, info) => verifyTwoFactor(ports, request(info), input),
    unbindTwoFactor: (_, { input }, { ports, request }, info) => unbindTwoFactor(ports, request(info), input),
    createTenant: (_, { input }, { ports, request }, info) => createTenant(ports, request(info), input),
    updateTenant: (_, { input }, { ports, tenantRequest }, info) => updateTenant(ports, tenantRequest(info), input),
    deleteTenant: (_, __, { ports, tenantRequest }, info) => deleteTenant(ports, tenantRequest(info)),
    switchTenant: (_, input, { ports, request }, info) => switchTenant(ports, request(info), input),
    generateApiKey: (_, __, { ports, tenantRequest }, info) => generateApiKey(ports, tenantRequest(info)),
    upsertAvatarConfig: (_, { input }, { ports, tenantRequest }, info) =>
      upsertAvatarConfig(ports, tenantRequest(info), input),
  },

  ApiUsageSummaryDto: {
    costThisMonthUsd: ({ spentUsd }) => spentUsd,
    monthlySpendCapUsd: ({ capUsd }) => capUsd,
    breakdown: (_, __, { ports, answer, tenantRequest }, info) =>
      apiUsageBreakdown(answer.reading(ports, info), tenantRequest(info)),
  },
};
