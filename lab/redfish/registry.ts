/** The attribute registry of simulated BIOSes: every type of attribute, and one that depends on another. */
import type { Document } from './answer.ts'

export function registry(): Document {
  const value = (ValueName: string): Document => ({ ValueName, ValueDisplayName: ValueName })
  const common = { ReadOnly: false, Hidden: false, MenuPath: './Setup' }
  return {
    Id: 'BiosAttributeRegistry.v1_0_4',
    Name: 'BIOS attributes',
    Language: 'en',
    RegistryEntries: {
      Attributes: [
        { ...common, AttributeName: 'BootMode', DisplayName: 'Boot Mode', HelpText: 'How the machine starts.', Type: 'Enumeration', Value: [value('Uefi'), value('Legacy')] },
        { ...common, AttributeName: 'ProcVirtualization', DisplayName: 'Virtualization Technology', HelpText: 'Hardware support of virtual machines.', Type: 'Enumeration', Value: [value('Enabled'), value('Disabled')] },
        { ...common, AttributeName: 'ProcCores', DisplayName: 'Cores per processor', Type: 'Integer', LowerBound: 2, UpperBound: 16, ScalarIncrement: 2 },
        { ...common, AttributeName: 'SriovGlobalEnable', DisplayName: 'SR-IOV', Type: 'Boolean' },
        { ...common, AttributeName: 'AssetTag', DisplayName: 'Asset tag', Type: 'String', MinLength: 0, MaxLength: 10 },
        { ...common, AttributeName: 'SetupPassword', DisplayName: 'Setup password', Type: 'Password', MaxLength: 32 },
        { ...common, AttributeName: 'SerialNumber', DisplayName: 'Serial number', Type: 'String', ReadOnly: true },
        { ...common, AttributeName: 'UefiVars', DisplayName: 'UEFI variables', Type: 'Enumeration', Hidden: true, Value: [value('Standard'), value('Controlled')] },
      ],
      Dependencies: [
        {
          DependencyFor: 'SriovGlobalEnable',
          Type: 'Map',
          Dependency: {
            MapFrom: [{ MapFromAttribute: 'ProcVirtualization', MapFromProperty: 'CurrentValue', MapFromCondition: 'EQU', MapFromValue: 'Disabled' }],
            MapToAttribute: 'SriovGlobalEnable',
            MapToProperty: 'ReadOnly',
            MapToValue: true,
          },
        },
      ],
    },
  } // biome-ignore format: a table
}
