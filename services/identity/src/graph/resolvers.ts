import { apiUsageBreakdown, apiUsageSummary } from '../api-usage-summary.ts';
import { bindTwoFactor } from '../bind-two-factor.ts';
import { changePassword } from '../change-password.ts';
import { createTenant } from '../create-tenant.ts';
import { deleteTenant } from '../delete-tenant.ts';
import { forgotPasswordWithOtp } from '../forgot-password-with-otp.ts';
import { generateApiKey } from '../generate-api-key.ts';
import { generateOtp } from '../generate-otp.ts';
import { generateTwoFactor } from '../generate-two-factor.ts';
import { getAuthProfile } from '../get-auth-profile.ts';
import { getAvatarConfig } from '../get-avatar-config.ts';
import { isRegisterable } from '../is-registerable.ts';
import { linkIdentity } from '../link-identity.ts';
import { login } from '../login.ts';
import { loginWithIdpOne } from '../login-with-idp-one.ts';
import { myTenant } from '../my-tenant.ts';
import { myTenants } from '../my-tenants.ts';
import { refreshSignIn } from '../refresh-sign-in.ts';
import { register } from '../register.ts';
import { resetUserPasswordWithUrl } from '../reset-user-password-with-url.ts';
import { setPrimaryBillingAccount } from '../set-primary-billing-account.ts';
import { switchTenant } from '../switch-tenant.ts';
import { unbindTwoFactor } from '../unbind-two-factor.ts';
import { unlinkIdentity } from '../unlink-identity.ts';
import { updateTenant } from '../update-tenant.ts';
import { upsertAvatarConfig } from '../upsert-avatar-config.ts';
import { validateSecuredToken } from '../validate-secured-token.ts';
import { verifyTwoFactor } from '../verify-two-factor.ts';
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
