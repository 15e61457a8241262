// Where cameras of a vendor have their streams, for those whose addresses nobody gave.

interface VendorStreams {
  /** Words that begin the name of the vendor, as cameras and people write it. */
  vendors: readonly string[]
  main: string
  sub: string
  port?: number
}

const HIKVISION: VendorStreams = {
  vendors: ['hikvision', 'hilook', 'annke'],
  main: '/Streaming/Channels/101',
  sub: '/Streaming/Channels/102',
}

const VENDORS: readonly VendorStreams[] = [
  HIKVISION,
  {
    vendors: ['dahua', 'amcrest', 'lorex'],
    main: '/cam/realmonitor?channel=1&subtype=0',
    sub: '/cam/realmonitor?channel=1&subtype=1',
  },
  { vendors: ['reolink'], main: '/Preview_01_main', sub: '/Preview_01_sub' },
  {
    vendors: ['axis'],
    main: '/axis-media/media.amp?videocodec=h264',
    sub: '/axis-media/media.amp?videocodec=h264&resolution=640x360',
  },
  { vendors: ['uniview', 'unv'], main: '/media/video1', sub: '/media/video2' },
  { vendors: ['hanwha', 'samsung', 'wisenet'], main: '/profile2/media.smp', sub: '/profile3/media.smp' },
  { vendors: ['tp-link', 'tplink', 'tapo', 'vigi'], main: '/stream1', sub: '/stream2' },
  { vendors: ['foscam'], main: '/videoMain', sub: '/videoSub', port: 88 },
  { vendors: ['ubiquiti'], main: '/live/ch0', sub: '/live/ch1' },
]

/** Without a login. Most cameras that nobody knows follow the most common vendor. */
export function vendorStreams(manufacturer: string, ip: string): { main: string; sub: string } {
  const name = manufacturer.trim().toLowerCase()
  const { main, sub, port } = VENDORS.find(({ vendors }) => vendors.some((one) => name.startsWith(one))) ?? HIKVISION
  const host = `${ip.includes(':') ? `[${ip}]` : ip}${port === undefined ? '' : `:${port}`}`
  return { main: `rtsp://${host}${main}`, sub: `rtsp://${host}${sub}` }
}
